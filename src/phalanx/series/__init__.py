# SPDX-License-Identifier: Apache-2.0
"""The way of the data: ``series``: read, publish, check, record, hand out; ``once``: in memory;
``in_parts``: of a table larger than that; ``staying``: the same where persons are followed;
``counted``: of one that is only counted; ``on_spark``: of one beyond a machine;
``staying_on_spark``, ``counted_on_spark``: the same where persons are followed, or rows counted;
``parted``: which of them it is.

``given``: what is to be published; ``drafting``: from a draft to checked files; ``bounds``: what
adversaries may find; ``staging``: folders; ``earlier``: the releases before; ``released``: the
public face of a release; ``preview``: of one that was not made; ``reconciling``: a ledger brought up
to what was published.
"""

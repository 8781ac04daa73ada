# SPDX-License-Identifier: Apache-2.0
"""Tables beyond one machine, on Apache Spark: rows are tagged with cells and cells are solved by the
processes that Spark starts, and no row comes to the one that publishes.

``source``: a table there; ``session``: a Spark that is private and silent; ``tasks``: what its workers
do; ``records``: what they are told and tell; ``faults``: how they say that they cannot; ``calling``: a
function called in them; ``checking``: a check in them; ``running``: the stages, one after the other;
``following``, ``persons``: the same where persons are followed; ``counting``: of a table that is
counted.
"""

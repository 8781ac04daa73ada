"""For all tests: a machine that is busy with something else is no failure."""

from hypothesis import settings

settings.register_profile("phalanx", deadline=None)
settings.load_profile("phalanx")

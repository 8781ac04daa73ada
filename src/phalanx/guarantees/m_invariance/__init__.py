"""m-invariance of a series: ``guarantee``; ``m_uniqueness`` of each release; ``signatures``."""

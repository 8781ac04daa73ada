"""The published forms, one file each; ``phalanx.release.form`` says what they have in common."""

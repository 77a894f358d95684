"""`make demo`: FAN-7 and retail conversations through the real processes, told as they happen."""

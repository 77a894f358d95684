"""`make demo`: FAN-7 through the three real processes, told as it happens."""

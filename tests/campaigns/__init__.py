"""Fault campaigns: traffic through the real processes while something goes wrong, judged by the checker of histories."""

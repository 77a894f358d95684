"""`python -m examples.retail.campaign`: published conversations through the real processes, under faults and kills."""

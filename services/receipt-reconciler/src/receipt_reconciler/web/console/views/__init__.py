"""What templates show, as values: pure functions of what the operations answer."""

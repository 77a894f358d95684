"""One module for each campaign."""

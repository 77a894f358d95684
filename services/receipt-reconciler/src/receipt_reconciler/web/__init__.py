"""The operator's queue over HTTP: the JSON API under /v1 and the console, in one process with the reconciler."""

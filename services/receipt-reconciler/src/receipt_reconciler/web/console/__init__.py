"""The console: server-rendered pages over the queue's operations. Every action is a form, and works without JavaScript."""

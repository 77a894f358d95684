"""What an operator can run against a database and a broker of theirs to see the guarantees hold."""

"""What happened, as clients, the provider, Postgres and Kafka tell it, and an independent checker of it.

`values` and the checks import nothing of the system that they judge (an import contract holds that): a mistake in the
runtime's own idea of order, state or content cannot hide itself here.
"""

"""What any text that people send has to be, so that every database keeps it."""

STORABLE = r"^[^\x00]*$"
"""The pattern of a text that can be stored: PostgreSQL keeps no zero bytes."""

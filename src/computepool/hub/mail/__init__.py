"""Mails to people: takes notices from the outbox, writes them down as mails, hands those to an SMTP server or the log.
Uses accounts to know who an owner is, and the names of jobs and nodes. Nothing waits for it, and it moves nothing.
"""

"""The server in front of the app: uvicorn, with limits on what comes before, and around, a request.

Uvicorn's parser bounds neither the size of a request's head nor the time that it takes, and what it was sent it keeps.
So both protocols are extended here: heads have a size and a time, bodies and readers have to move on, and requests are
counted by address. Connections are accepted here (`listening.py`), to count them before TLS. Nothing is timed for each
request: one look a second goes through all connections.
"""

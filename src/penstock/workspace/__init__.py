"""What stands on disk: subscribers and subscriptions, the inbox, index versions, the tables.

No server and no Spark is needed to read or change any of it: the pipeline and the commands
share it.
"""

"""The command ``widemargin``; nothing heavy is imported before a command runs."""

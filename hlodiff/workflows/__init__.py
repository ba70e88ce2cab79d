"""The application that the command line, pytest and Python call. Nothing here prints or parses arguments."""

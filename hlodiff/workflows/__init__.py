"""The application: what the command line, pytest and Python call. Nothing here prints or reads arguments."""

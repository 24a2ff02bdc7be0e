"""A whole run, put together: data, plan, method, verdicts, files. The command line and the Python API call this."""

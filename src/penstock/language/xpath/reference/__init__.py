"""The reference parser of XPath queries, in plain Python."""

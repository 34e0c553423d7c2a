"""XPath queries: parsing, printing, normal form."""

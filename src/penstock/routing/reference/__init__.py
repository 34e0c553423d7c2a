"""The reference of match lists and route tables, which serves where there is no native core."""

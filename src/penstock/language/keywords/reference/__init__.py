"""The reference tokenizer of keyword queries."""

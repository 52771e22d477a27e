"""A policy acts in worlds and calls tools, and is paid for what comes of it."""

"""Other people's code: agents that are not ours, and the endpoint through which they speak."""

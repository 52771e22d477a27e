"""Other people's code: environments in processes of their own, and the endpoint by which agents ask."""

"""The endpoint suite: whether a text agent of a study can use this model endpoint. `rth check endpoint`."""

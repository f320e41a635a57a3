"""Random trainings, each in all ways of laying its rows out: the models have to be the same."""

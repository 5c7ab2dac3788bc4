"""A slow, plain reading of the rules, independent of the engine, that tests compare the engine with."""

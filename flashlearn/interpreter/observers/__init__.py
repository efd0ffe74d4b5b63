"""What watches a launch: each observer subscribes to the events of flashlearn.interpreter.observer."""

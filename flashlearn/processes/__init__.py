"""Child processes: started, forked, limited, talked to and ended. It knows nothing of kernels or grading."""

"""The classroom: hand lessons out, collect strangers' notebooks, grade them safely, and write it all down."""

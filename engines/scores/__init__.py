"""How likely models find a text: what acceptance is predicted from."""

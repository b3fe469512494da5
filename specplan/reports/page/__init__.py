"""The page of `specplan report`: its contents and its template."""

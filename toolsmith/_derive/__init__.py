"""From a function, or a JSON Schema from elsewhere, to what a tool is: schema, validator, the way to call it."""

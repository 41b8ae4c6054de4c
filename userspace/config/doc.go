// Package config reads headgate's configuration file: YAML, read strictly.
//
// A field that does not exist, a field given twice, a value of another form and a limit that
// makes no sense are errors. Each tells the file, line, column and path of the field, what is
// wrong and what is right, and all of a file are reported at once. Fields lists all fields.
package config

// Package metrics shows what headgate counts to Prometheus, and tells probes whether it lives and is ready.
//
// Nothing is counted here but how long the backend took: a scrape reads what the limiters count
// anyway. Labels have values that the configuration or the program names, never something that a
// client sends, so that nobody can make series.
package metrics

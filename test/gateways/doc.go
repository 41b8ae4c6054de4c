package gateways

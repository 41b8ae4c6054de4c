// Package adaptive moves a factor on all rates by the health of the backend: a little up after each
// interval in which it was well, by much down when it was not, as TCP does with its window (AIMD,
// Chiu and Jain 1989). It only decides; who applies the factor is the agent.
//
// An interval is judged by one signal: a percentile of the answers' latency, the share of 5xx, or
// how many requests were under way. Above the target it is unhealthy, up to Recover times the
// target it is healthy, and between the two nothing changes. What the limiter refused never reached
// the backend, and is not part of any signal.
//
// What keeps it quiet:
//
//   - Five answers beyond the target are what it takes for unhealthy. A window with fewer does not
//     lower the factor, however large their share is.
//   - Requests that were let in before the factor was lowered are still answered after it. As long
//     as they may be, the factor is not lowered again: as TCP does once a round trip.
//   - Just below the factor that was too much last time, steps are a tenth of the usual.
//   - An interval with fewer than five answers says nothing. After it the factor goes a step towards
//     1, from both sides: what was learned under load holds for that load.
//   - A backend that fails at once has short latencies and little under way. Where half of the
//     answers are 5xx, the factor is not raised.
//
// A backend that hangs answers nothing, and so has no latency. Requests that waited through a whole
// interval therefore count as answers that took that long.
package adaptive

package main

import (
	"strings"

	"github.com/headgate/headgate/loader"
	"github.com/headgate/headgate/userspace/admin"
	"github.com/headgate/headgate/userspace/config"
)

// manSection is a section of a man page.
type manSection struct {
	title string
	items []manItem
}

// manItem is something that a section says about a name.
type manItem struct{ name, says string }

// manSections returns, in roff, what a page has beside what cobra says of a command.
func manSections(name string) string {
	var b strings.Builder
	for _, s := range sectionsOf(name) {
		s.write(&b)
	}
	return b.String()
}

func sectionsOf(name string) []manSection {
	switch name {
	case "headgate":
		return []manSection{
			{"FILES", append([]manItem{fileItem()}, instanceItems()...)},
			{"ENVIRONMENT", environmentItems()},
			{"EXIT STATUS", exitItems()},
		}
	case "headgate-run":
		return []manSection{
			{"FILES", append([]manItem{fileItem(), {admin.DefaultSocket, "the socket of the agent, where the file says so (admin)"}}, instanceItems()...)},
			{"SIGNALS", []manItem{
				{"SIGHUP", "read the file again, and open the log file again"},
				{"SIGTERM, SIGINT", "take no new connections, and end when the requests under way have, after timeouts.drain at the latest; the second one ends the process at once"},
			}},
			{"ENVIRONMENT", append(environmentItems(), manItem{"GOGC, GOMEMLIMIT", "when garbage is collected; with either, only they count"})},
			{"EXIT STATUS", exitItems()},
		}
	}
	return nil
}

func fileItem() manItem {
	return manItem{"/etc/headgate/headgate.yaml", "the file that the unit headgate.service runs the agent by"}
}

func instanceItems() []manItem {
	return []manItem{{loader.DefaultDir, "what is in force in the kernel, on a bpf file system; it stays when processes end"}}
}

func environmentItems() []manItem {
	return []manItem{
		{"HEADGATE_PIN", "the directory of the instance, in the place of " + loader.DefaultDir},
		{"HEADGATE_SOCKET", "where commands reach the agent, in the place of " + admin.DefaultSocket},
		{"HEADGATE_TOKEN_FILE", "the file with the token that an agent's URL needs"},
		{"SSH_CONNECTION", "the session that is not to be cut off; where sudo has removed it, it is looked for in the processes above"},
	}
}

func exitItems() []manItem {
	return []manItem{{"0", "done"}, {"1", "failed"}, {"2", "wrong usage; nothing was done"}}
}

func (s manSection) write(b *strings.Builder) {
	b.WriteString(".SH " + s.title + "\n")
	for _, item := range s.items {
		b.WriteString(".TP\n" + bold(item.name) + "\n" + roff(item.says) + "\n")
	}
	b.WriteString("\n\n")
}

func bold(text string) string { return `\fB` + roff(text) + `\fP` }

// roff returns a line as roff has it.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\\`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text // or it were a request
	}
	return text
}

// fileManPage returns the page of the configuration file, with all its fields.
func fileManPage() []byte {
	var b strings.Builder
	b.WriteString(".nh\n" + `.TH "HEADGATE.YAML" "5" "` + manDate.Format("Jan 2006") + `" "headgate" "File Formats"` + "\n\n")
	b.WriteString(".SH NAME\nheadgate.yaml - " + roff("the configuration of headgate: what is limited, what is served, and who is handed down") + "\n\n\n")
	b.WriteString(".SH DESCRIPTION\n" + roff("One YAML file for headgate run. Each section may be left out. Without kernel no packet is limited and no privilege is "+
		"needed; without listen and auth nothing is served. A field that there is not, or that is given twice, is an error; headgate check finds all of them, and says in words what a file does.") + "\n\n\n")
	for _, s := range fileSections() {
		s.write(&b)
	}
	b.WriteString(".SH EXAMPLE\n.EX\n" + roffLines(manExample) + ".EE\n\n")
	b.WriteString(seeAlso + bold("headgate(8)") + ", " + bold("headgate-run(8)") + ", " + bold("headgate-check(8)") + "\n")
	return []byte(b.String())
}

// manExample is a file; TestManPageOfTheFile checks it.
const manExample = `kernel:
  interfaces: [eth0]
listen: ["0.0.0.0:8080"]
upstream: ["http://127.0.0.1:9000"]
http:
  zones: {perip: {key: ip, rate: 2r/s}}
  rules: [{limits: [{zone: perip, burst: 20, nodelay: true}]}]
handdown: {after: 20, within: 10s, action: block, for: 1m}
metrics: {listen: "127.0.0.1:9079"}
admin: {socket: /run/headgate/admin.sock}
`

func roffLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(roff(line))
	}
	return b.String()
}

// fileSections returns the fields of the file, a section for each mapping.
func fileSections() (all []manSection) {
	for _, f := range config.Fields() {
		title, name := "THE FILE", f.Path
		if i := strings.LastIndexByte(f.Path, '.'); i >= 0 {
			title, name = f.Path[:i], f.Path[i+1:]
		}
		if len(all) == 0 || all[len(all)-1].title != title {
			all = append(all, manSection{title: title})
		}
		s := &all[len(all)-1]
		s.items = append(s.items, manItem{name, plain(f.Meaning + ". Write " + f.Form + ". " + without(f.Default) + ".")})
	}
	return all
}

// without returns what holds without a field.
func without(standing string) string {
	if rest, ok := strings.CutPrefix(standing, "required"); ok {
		return "It is required" + rest
	}
	return "Without it: " + standing
}

// plain returns a text of Markdown without its marks of code.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

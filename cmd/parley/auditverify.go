package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/client/hubapi"
	"parley.internal/internal/audit"
	"parley.internal/protocol/rest"
)

func newAuditVerify(g *globals) *cobra.Command {
	var file, key string
	var kept []string
	cmd := &cobra.Command{
		Use: "verify", Short: "Walk the chain and look for changed, removed or reordered entries, and for a cut end", Args: cobra.NoArgs,
		Long: "Walks the whole trail and its signed checkpoints, and holds it against the checkpoints\n" +
			"the hub keeps outside the database. With --checkpoints it is also held against those you\n" +
			"kept elsewhere: what 'parley audit checkpoints --json' printed, a witness's file, an export.\n" +
			"With --file an exported trail is verified without a hub, against the hub's public key.\n\n" +
			"It ends with 0 if the trail is intact, or if a person acknowledged every cut; it then says so.",
		Example: "  parley audit verify --checkpoints /mnt/other/parley.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := verify(g, cmd, file, key, kept)
			if err != nil {
				return err
			}
			if err := g.show(cmd, report, func(p *printer) { describeReport(p, report) }); err != nil {
				return err
			}
			if !report.OK && !report.Acknowledged {
				return &exitError{code: 1}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "an exported trail")
	cmd.Flags().StringVar(&key, "key", "", "the hub's public key (base64); default: the one in the file")
	cmd.Flags().StringArrayVar(&kept, "checkpoints", nil, "a file with checkpoints kept elsewhere, or - for standard input; may be repeated")
	return jsonFlag(cmd, g)
}

func verify(g *globals, cmd *cobra.Command, file, key string, names []string) (rest.AuditReport, error) {
	kept, err := readKept(names, cmd.InOrStdin())
	if err != nil {
		return rest.AuditReport{}, err
	}
	if file != "" {
		return verifyFile(file, key, kept)
	}
	given, err := toGive(kept)
	if err != nil {
		return rest.AuditReport{}, err
	}
	if len(given.Checkpoints) == 0 {
		return ask(g, cmd, rest.VerifyAudit, rest.None{})
	}
	return ask(g, cmd, rest.VerifyAuditGiven, given)
}

// readKept reads files of checkpoints. One without any is a mistake, not a success.
func readKept(names []string, stdin io.Reader) ([]audit.Kept, error) {
	var all []audit.Kept
	for _, name := range names {
		in := stdin
		if name != "-" {
			f, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			defer func() { _ = f.Close() }()
			in = f
		}
		found, _, err := audit.ReadCheckpoints(in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s holds no checkpoints", name)
		}
		all = append(all, audit.Kept{Where: name, Checkpoints: found})
	}
	return all, nil
}

// maxGive is how many checkpoints a hub takes at once. The newest tell of any cut since.
const maxGive = 10_000

func toGive(kept []audit.Kept) (give rest.KeptCheckpoints, err error) {
	var names []string
	var all []audit.Checkpoint
	for _, k := range kept {
		names, all = append(names, k.Where), append(all, k.Checkpoints...)
	}
	give.Where = strings.Join(names, ", ")
	text, err := json.Marshal(all[max(0, len(all)-maxGive):])
	if err != nil {
		return give, err
	}
	err = json.Unmarshal(text, &give.Checkpoints)
	return give, err
}

func describeReport(p *printer, r rest.AuditReport) {
	switch {
	case r.OK:
		p.line(fmt.Sprintf("the trail is intact: %d entries, %d signed checkpoints", r.Entries, r.Checkpoints))
	case len(r.Cuts) == 0:
		p.line(fmt.Sprintf("THE TRAIL IS NOT INTACT at entry %d: %s", r.BadSeq, r.Problem))
	case !r.Acknowledged:
		p.line("THE TRAIL WAS CUT: " + r.Problem)
	}
	for _, cut := range r.Cuts {
		if a := cut.Acknowledged; a != nil {
			p.line(fmt.Sprintf("cut at %d acknowledged by %s at %s: %s", cut.After, a.By, a.At.UTC().Format(time.RFC3339), a.Reason))
		}
	}
	for _, k := range r.Kept {
		if k.Agree > 0 || k.Foreign > 0 {
			p.line(keptLine(k))
		}
	}
}

func keptLine(k rest.AuditKept) string {
	line := fmt.Sprintf("%d checkpoints kept in %s agree, up to entry %d", k.Agree, k.Where, k.Last)
	if k.Foreign > 0 {
		line += fmt.Sprintf("; %d there are not this hub's and say nothing", k.Foreign)
	}
	return line
}

func newAuditCheckpoints(g *globals) *cobra.Command {
	var of string
	var after int64
	cmd := &cobra.Command{
		Use: "checkpoints", Short: "List the hub's signatures over its trail, to be kept elsewhere", Args: cobra.NoArgs,
		Long: "Whoever owns the hub's database could cut off the end of the trail, and the signatures\n" +
			"over it. Kept where they cannot reach, for instance by cron on another computer, these\n" +
			"lists show it: give them to 'parley audit verify --checkpoints'.",
		Example: "  parley audit checkpoints --json > /mnt/other/parley-$(date +%F).json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []rest.Checkpoint
			err := g.withHub(cmd, func(ctx context.Context, c *hubapi.Client) (err error) {
				list, err = hubapi.Checkpoints(ctx, c, of, after)
				return err
			})
			if err != nil {
				return err
			}
			return g.show(cmd, list, func(p *printer) {
				p.table("ENTRY", "SIGNED", "HASH")
				for _, cp := range list {
					p.row(fmt.Sprint(cp.Seq), time.UnixMicro(cp.At).Local().Format("2006-01-02 15:04:05"), cp.Hash)
				}
			})
		},
	}
	cmd.Flags().Int64Var(&after, "after", 0, "only those that sign more entries than this")
	cmd.Flags().StringVar(&of, "of", "", "those that another hub left here, by its public key in hex")
	return jsonFlag(cmd, g)
}

func newAuditAcknowledge(g *globals) *cobra.Command {
	var reason string
	var kept []string
	cmd := &cobra.Command{
		Use: "acknowledge-cut", Short: "Say in the trail that it was cut and why, such as a restored backup", Args: cobra.NoArgs,
		Long: "A restored backup makes the trail shorter than the checkpoints that were kept say. This\n" +
			"writes an entry about it, signed by the hub, with your name. 'parley audit verify' then\n" +
			"names the cut and who acknowledged it; it never calls the trail intact again. Admins only.",
		Example: "  parley audit acknowledge-cut --reason 'restored the backup of Monday after the disk failed'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reason == "" {
				return usageError("say why: --reason TEXT")
			}
			given, err := readKept(kept, cmd.InOrStdin())
			if err != nil {
				return err
			}
			give, err := toGive(given)
			if err != nil {
				return err
			}
			known, err := ask(g, cmd, rest.AcknowledgeCut, rest.CutAcknowledgement{KeptCheckpoints: give, Reason: reason})
			if err != nil {
				return err
			}
			return g.show(cmd, known.Cuts, func(p *printer) {
				for _, cut := range known.Cuts {
					p.line(fmt.Sprintf("acknowledged: cut at %d, where %s signs entry %d", cut.After, cut.Kept, cut.UpTo))
				}
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why the trail is shorter than it was")
	cmd.Flags().StringArrayVar(&kept, "checkpoints", nil, "a file with checkpoints kept elsewhere, or -; may be repeated")
	return jsonFlag(cmd, g)
}

// verifyFile checks an exported trail without any hub.
func verifyFile(name, key string, kept []audit.Kept) (rest.AuditReport, error) {
	var trusted []ed25519.PublicKey
	if key != "" {
		raw, err := base64.StdEncoding.DecodeString(key)
		if err != nil || len(raw) != ed25519.PublicKeySize {
			return rest.AuditReport{}, usageError("--key is not a public key in base64; 'parley status --json' shows the hub's")
		}
		trusted = append(trusted, raw)
	}
	f, err := os.Open(name)
	if err != nil {
		return rest.AuditReport{}, err
	}
	defer func() { _ = f.Close() }()
	r, err := audit.VerifyExport(f, trusted, kept...)
	if err != nil {
		return rest.AuditReport{}, err
	}
	// The report reads the same whoever made it.
	text, err := json.Marshal(r)
	if err != nil {
		return rest.AuditReport{}, err
	}
	var out rest.AuditReport
	err = json.Unmarshal(text, &out)
	return out, err
}

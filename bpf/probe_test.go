package bpf_test
import ("testing";"time";"fmt"
"github.com/headgate/headgate/test/progtest"
"github.com/headgate/headgate/test/packet"
"github.com/headgate/headgate/maps/policymap"
)
func TestProbe(t *testing.T){
 progtest.NeedRoot(t)
 s:=time.Now()
 lab:=progtest.New(t,progtest.Options{})
 fmt.Println("load",time.Since(s)); s=time.Now()
 lab.SetDefault(progtest.Packets("5pps",5))
 fmt.Println("set",time.Since(s)); s=time.Now()
 lab.SetDefault(progtest.Packets("5pps",5))
 fmt.Println("set",time.Since(s)); s=time.Now()
 f:=packet.UDPFrame("192.0.2.1","192.0.2.2",53,10)
 for range 7 { fmt.Println(lab.Run(f)) }
 fmt.Println("run",time.Since(s)); s=time.Now()
 l,err:=lab.Buckets.List(); fmt.Println(l,err)
 fmt.Println("list",time.Since(s)); s=time.Now()
 fmt.Println(lab.Events())
 fmt.Println(lab.RunN(f,10000))
 if progtest.NeedCPUs(t,2);true { fmt.Println(lab.Parallel(progtest.Load{f,10000},progtest.Load{f,10000})) }
 fmt.Println("par",time.Since(s)); s=time.Now()
 lab.SetPolicy(policymap.Policy{Name:"shared",Key:policymap.Shared,Limit:progtest.Packets("5pps",5)})
 lab.DeletePolicy("default")
 fmt.Println(lab.Run(f))
 func(){ defer func(){fmt.Println(recover())}()
 lab.SetRules(progtest.Block("10.0.0.0/8"))
 }()
 s=time.Now()
 lab=progtest.New(t,progtest.Options{})
 fmt.Println("load",time.Since(s)); s=time.Now()
 lab=progtest.New(t,progtest.Options{Frags:true})
 fmt.Println("load",time.Since(s)); s=time.Now()
}

package sandbox_test

import (
	"testing"

	"magpie/tools/shell/sandbox"
)

// What a command is for works.
func TestWork(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bwrap} {
		t.Run(string(kind), func(t *testing.T) {
			s := place(t, kind)
			for name, c := range work() {
				if kind == sandbox.Bwrap && name == "special" {
					continue // nobody refuses it; nothing of the workspace is run with other rights
				}
				t.Run(name, func(t *testing.T) {
					if out, said := s.run(c.command); said != c.want {
						t.Errorf("%s\n%+v, said:\n%s\nwant:\n%s", c.command, out, said, c.want)
					}
				})
			}
		})
	}
}

type worked struct{ command, want string }

// work is what people have commands for, and what is said then.
func work() map[string]worked {
	return map[string]worked{
		"files":        {`mkdir -p d/e && echo 你好 > d/a && mv d/a d/e/b && cat d/e/b && ln -s e/b d/l && cat d/l && ln d/e/b d/h && rm -f d/l && cp -a d d2 && cat d2/h`, "你好\n你好\n你好\n"},
		"mode":         {`touch m && chmod 750 m && chmod u-x m && stat -c %a m && touch -d 2001-02-03T04:05:06Z m && stat -c %Y m && mkdir md && chmod 700 md && stat -c %a md && chown $(id -u):$(id -g) m && echo ok`, "650\n981173106\n700\nok\n"},
		"times":        {`cd /; touch -d 2001-02-03T04:05:06Z $HOME/t1; cd $HOME; touch -r t1 t2; ln -s t1 tl; touch -h -d 2002-02-03T04:05:06Z tl; stat -c %Y t1 t2 tl`, "981173106\n981173106\n1012709106\n"},
		"length":       {`echo 12345 > l1; /usr/bin/perl -e 'truncate("l1", 3) or print "no"; utime(1,2,"l1") or print "no"; chmod(0600,"l1") or print "no"'; cat l1; stat -c ' %Y %a' l1`, "123 2 600\n"},
		"special":      {`touch s; chmod u+s s; chmod g+s s; stat -c %a s | cut -c1-3 | grep -c '[24]...'`, "chmod: changing permissions of 's': Operation not permitted\nchmod: changing permissions of 's': Operation not permitted\n0\n"},
		"temporary":    {`f=$(mktemp) && echo x > $f && cat $f && [ "${f#$TMPDIR}" != "$f" ] && echo private`, "x\nprivate\n"},
		"null":         {`echo x > /dev/null && head -c 3 /dev/zero | wc -c && head -c 3 /dev/urandom | wc -c && cat < /dev/null; read x; echo "end $?"`, "3\n3\nend 1\n"},
		"substitution": {`cat <(echo a) <(echo b); diff <(echo a) <(echo a) && echo same`, "a\nb\nsame\n"},
		"pipes":        {`seq 1000 | sort -rn | head -1; trap 'echo bye' EXIT; (exit 3) || echo $?`, "1000\n3\nbye\n"},
		"own signals":  {`sleep 50 & kill $! && wait $!; echo $?; kill -0 $$ && echo me; timeout 0.1 sleep 9; echo $?`, "143\nme\n124\n"},
		"python":       {`/usr/bin/python3 -c 'import subprocess,tempfile,threading; t=threading.Thread(target=lambda: print(1)); t.start(); t.join(); print(subprocess.check_output(["echo","2"]).decode(),end=""); open("p.py","w").write("print(3)")' && /usr/bin/python3 p.py`, "1\n2\n3\n"},
		"git":          {`export GIT_CONFIG_NOSYSTEM=1; git init -q r && cd r && echo x > a && git add . && git -c user.name=a -c user.email=a@b commit -qm c && git log --format=%s`, "c\n"},
		"programs":     {`printf 'int main(){return 7;}' > c.c && gcc -o c c.c && ./c; echo $?; tar cf t.tar c.c && mkdir -p x && tar xf t.tar -C x && ls x`, "7\nc.c\n"},
	}
}

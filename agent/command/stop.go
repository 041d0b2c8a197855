package command

import "context"

func runStop(ctx context.Context, _ *Set, r *request) (string, error) {
	stopped, err := r.chat.Stop(ctx)
	if err != nil {
		return "", err
	}
	if stopped {
		return r.pick("Stopped.", "已停止。"), nil
	}
	return r.pick("Nothing is running.", "当前没有正在进行的任务。"), nil
}

package command

import "context"

func runStop(ctx context.Context, s *Set, r *request) (string, error) {
	stopped, err := r.chat.Stop(ctx)
	if err != nil {
		return "", err
	}
	// After the turn: it can start no other task now.
	tasks, err := s.stopTasks(ctx, r)
	switch {
	case err != nil:
		return "", err
	case stopped && tasks != "":
		return r.pick("Stopped. ", "已停止。") + tasks, nil
	case tasks != "":
		return tasks, nil
	case stopped:
		return r.pick("Stopped.", "已停止。"), nil
	}
	return r.pick("Nothing is running.", "当前没有正在进行的任务。"), nil
}

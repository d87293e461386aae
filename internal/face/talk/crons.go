package talk

import (
	"parley.internal/internal/talk"
	wire "parley.internal/protocol/agentfirst"
)

func (r *request) createCron() (*wire.ServerMessage, error) {
	in := r.msg.GetCreateCron()
	s, err := r.c.face.d.Talk.CreateSchedule(r.c.ctx, r.who, talk.Schedule{
		Schedule: in.GetSchedule(), Skill: in.GetSkill(), Key: key(in),
		QuietStart: in.GetQuietStart(), QuietEnd: in.GetQuietEnd(), Once: in.GetOnce(),
	})
	if err != nil {
		return nil, err
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_CronInfo{CronInfo: cronInfo(s)}}, nil
}

func cronInfo(s talk.Schedule) *wire.CronInfo {
	return &wire.CronInfo{
		Id: number(s.ID), Schedule: s.Schedule, Skill: s.Skill, Agent: s.Agent, Sender: s.Sender, Thread: s.Thread,
		QuietStart: s.QuietStart, QuietEnd: s.QuietEnd, Once: s.Once, NextAt: moment(s.Next), LastError: s.LastError,
	}
}

func (r *request) deleteCron() (*wire.ServerMessage, error) {
	return pong(r.c.face.d.Talk.DeleteSchedule(r.c.ctx, r.who, int64(r.msg.GetDeleteCron().GetId())))
}

func (r *request) listCrons() (*wire.ServerMessage, error) {
	list, err := r.c.face.d.Talk.Schedules(r.c.ctx, r.who)
	if err != nil {
		return nil, err
	}
	out := &wire.CronList{}
	for _, s := range list {
		out.Crons = append(out.Crons, cronInfo(s))
	}
	return &wire.ServerMessage{Message: &wire.ServerMessage_CronList{CronList: out}}, nil
}

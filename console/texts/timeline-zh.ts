/** The texts of timelines in simplified Chinese. */
import type { TimelineTexts } from '../../services/tasks/timeline-texts.ts';

/** Statuses of tasks and deliveries. */
export const STATUSES_ZH = {
  queued: '排队中',
  processing: '生成中',
  pending: '待投递',
  succeeded: '成功',
  delivered: '已投递',
  failed: '失败',
};

/** States of keys and endpoints. */
export const STATES_ZH = {
  enabled: '已启用',
  disabled: '已停用',
  failing: '失败中',
};

/** Error codes of requests and tasks. */
export const ERROR_CODES_ZH = {
  content_policy_violation: '内容政策',
  bad_request: '被供应商拒绝',
  processing_unavailable: '供应商不可用',
  processing_timeout: '超时',
  processing_failed: '供应商处理失败',
  result_transfer_failed: '结果无法保存',
  internal_error: '网关内部失败',
  insufficient_credits: '余额不足',
  rate_limit_exceeded: '请求过于频繁',
};

/** The reasons of failed tasks that are no error codes. */
export const CANCELLATIONS_ZH = {
  cancelled_by_operator: '被运营人员取消',
  cancelled_by_customer: '被客户取消',
};

/** Faults of calls of upstreams. */
export const FAULTS_ZH = {
  unreachable: '无法连接',
  key_refused: '密钥被拒绝',
  access_refused: '访问被拒绝',
  model_unknown: '不认识该模型',
  rate_limited: '请求过多',
  failed: '失败',
  silent: '没有响应',
};

/** Outcomes of submissions and requests. */
export const OUTCOMES_ZH = {
  refused: '被拒绝',
  not_taken: '未接收',
  succeeded: '成功',
  disconnected: '客户端离开',
  failed: '失败',
};

export const TIMELINE_ZH: TimelineTexts = {
  labels: {
    ...STATUSES_ZH,
    ...STATES_ZH,
    ...ERROR_CODES_ZH,
    ...CANCELLATIONS_ZH,
    ...FAULTS_ZH,
    ...OUTCOMES_ZH,
    deleted: '已删除',
    busy: '繁忙',
    answered: '已应答',
    broken: '中断',
    cancelled: '已取消',
    retry: '重试',
    next: '改用下一条线路',
    topup: '充值',
    signup_grant: '注册赠金',
    promo_grant: '促销赠金',
    promo_expiry: '促销赠金过期',
    reservation: '预留',
    settlement: '收费',
    refund: '退款',
    allowance: '文本预留',
    charge: '文本收费',
    release: '文本退回',
    excess: '超出预留的收费',
    absorbed_loss: '自行承担的损失',
    adjustment: '更正',
    available: '可用余额',
    reserved: '预留',
    payments: '付款',
    signup_credit: '注册赠金',
    promo_credit: '促销赠金',
    adjustments: '更正',
    revenue: '收入',
    edit: '编辑',
    price: '价格',
    suspend: '暂停',
    reopen: '恢复',
    erase: '删除内容',
    cancel: '取消',
    redeliver: '重新投递',
    read_prompt: '查看提示词',
    'disabled by its owner': '由所有者停用',
    'a look-up of its key': '按密钥查询',
    'a look-up of our id': '按我们的编号查询',
    'a look-up of what was sent': '按发送内容查询',
    exclusion: '排除法',
    'the callback': '回调',
  },
  separator: '；',
  task: {
    succeeded: (usd) => `成功，已收费 ${usd}。`,
    failed: (code, message, usd) => `失败（${code}）：${message} 已全额退款 ${usd}。`,
    inProgress: (usd) => `进行中，预留 ${usd}。`,
    temporalSilent: (usd) => `进行中，预留 ${usd}。Temporal 没有响应，其他情况未知。`,
    noWorkflow: (usd) => `进行中，预留 ${usd}。Temporal 还没有该任务的工作流。`,
    workflowClosed: (usd, status) => `进行中，预留 ${usd}，但任务的工作流已关闭（${status}）。`,
    refundSoon: (deadline) => `截止时间 ${deadline} 过后不久会退款；取消任务可立即退款。`,
    created: (request, key) => `由请求 ${request} 使用密钥 ${key} 创建`,
    ended: (status, code) => `结束：${status}${code === null ? '' : `（${code}）`}`,
  },
  submission: {
    submitted: (attempt, upstream, model) => `第 ${attempt} 次尝试：以 ${model} 提交给 ${upstream}`,
    attempt: (attempt, messages) => `第 ${attempt} 次尝试：${messages}`,
    accepted: (upstream) => `${upstream} 已接受作业`,
    refused: (upstream) => `${upstream} 拒绝了作业`,
    notTaken: {
      access_refused: (upstream) => `${upstream} 拒绝访问`,
      unreachable: (upstream) => `无法连接 ${upstream}`,
      busy: (upstream) => `${upstream} 繁忙`,
    },
    notTakenOtherwise: (upstream) => `${upstream} 没有接收作业`,
    unknown: (upstream) => `${upstream} 是否有此作业尚不清楚`,
    knownFrom: (source) => `，来源：${source}`,
    because: (messages) => `（${messages}）`,
    job: (id) => `作业 ${id}`,
    possibleLoss: (usd) => `可能生成了无人收到的结果，目录价 ${usd}`,
    vendorCharged: (amount, unit) => `上游收费 ${amount} ${unit}`,
    cost: (usd) => `成本 ${usd}`,
  },
  steps: {
    names: {
      reserve: [(usd) => `预留 ${usd}`, (usd) => `已预留 ${usd}`],
      dispatch: [() => '向供应商提交作业', () => '已向供应商提交作业'],
      render: [() => '由供应商生成并保存文件', () => '供应商已生成，文件已保存'],
      awaitResult: [() => '等待供应商', () => '供应商已完成'],
      storeResult: [() => '保存并检查结果', () => '结果已保存并检查'],
      keepLateResult: [() => '保存迟到的结果', () => '迟到的结果已保存'],
      recheckJob: [() => '再次查看是否按时生成', () => '已再次查看'],
      settle: [(usd) => `收费 ${usd}`, (usd) => `已收费 ${usd}`],
      refund: [(usd) => `退款 ${usd}`, (usd) => `已退款 ${usd}`],
      cancelJob: [() => '取消供应商的作业', () => '供应商的作业已取消'],
      withdrawJob: [() => '客户取消：请供应商停止', () => '客户取消：供应商已答复'],
    },
    outcomes: {
      done: (step) => `${step}：完成`,
      failed: (step, failure) => `${step}：失败：${failure}`,
      timedOut: (step, failure) => `${step}：超时：${failure}`,
      cancelled: (step) => `${step}：已取消`,
      running: (step, attempt) => `${step}：进行中，第 ${attempt} 次尝试`,
    },
    attempt: (step, attempt) => `${step}（第 ${attempt} 次尝试）`,
    previousFailed: (failure) => `上一次尝试失败：${failure}`,
    heartbeat: (at, details) => `${at} 的心跳：${details}`,
    noReason: '原因没有记录',
    started: () => '工作流已启动',
    startedChild: (_summary, id) => `启动了子工作流 ${id}`,
    signalled: (signal) => `收到信号 ${signal}`,
    cancelRequested: '已请求取消',
    customerCancels: '客户请求取消任务',
    customerAnswered: (answer) => `已答复客户：${answer}`,
    ended: '工作流已结束',
    timedOut: '工作流超时',
    failed: (failure) => `工作流失败，这是程序错误：${failure}`,
    terminated: (by, reason) => `工作流被 ${by} 终止：${reason}`,
    noReasonGiven: '没有说明原因',
  },
  operator: (kind, usd, author, reason) => `${author}：${kind}${usd === null ? '' : ` ${usd}`}，${reason}`,
  action: (kind, subject, author, reason) => `${author} 对 ${subject} 执行${kind}：${reason}`,
  transfer: {
    moved: (kind, usd, debit, credit, id) => `${kind} ${usd}，从${debit}到${credit}：${id}`,
    forCause: (kind, usd, cause, verdict) => `${kind} ${usd}，对应 ${cause}。${verdict}`,
    alone: (kind, usd, reason) => `${kind} ${usd}：${reason}`,
    noReference: '没有参考号',
  },
  delivery: {
    made: (event, endpoint, id, status) => `${event} 发往 ${endpoint}：${id}，当前${status}`,
    next: (at) => `，下次尝试：${at}`,
    attempt: (id, number, answer, milliseconds) => `${id}，第 ${number} 次尝试：${answer}，用时 ${milliseconds} 毫秒`,
    verdict: (event, endpoint, status, attempts) => `${event} 发往 ${endpoint}：${status}，共尝试 ${attempts} 次。`,
  },
  event: {
    verdict: (type, task, endpoints) => `${type}${task === null ? '' : `（${task}）`}，发往 ${endpoints} 个端点。`,
    happened: (type, task) => `发生 ${type}${task === null ? '' : `（${task}）`}`,
  },
  account: {
    open: (name, available, held) => `${name} 正常；可用 ${available}，预留 ${held}。`,
    suspended: (name, since, available, held) => `${name} 自 ${since} 起暂停；可用 ${available}，预留 ${held}。`,
    created: '创建',
    toppedUp: '首次充值',
    key: (id, hint, state) => `创建 ${id}（${hint}），当前${state}`,
  },
  key: {
    verdict: (hint, state, used, limit) =>
      `${hint} ${state}；已用 ${used}，${limit === null ? '不限' : `上限 ${limit}`}。`,
    created: (name) => (name === '' ? '创建' : `创建，名称 ${name}`),
    disabled: '停用',
    expires: '到期',
    deleted: '删除',
  },
  endpoint: {
    verdict: (url, state) => `${url} ${state}。`,
    created: (url) => `为 ${url} 创建`,
    failing: '上次成功之后的首次失败',
    disabled: (reason) => `停用：${reason}`,
    deleted: '删除',
  },
  file: {
    verdict: (name, type, bytes) => `${name ?? '未命名的文件'}，${type}，${bytes} 字节。`,
    uploading: '开始上传',
    stored: '已保存',
    used: '首次被任务使用',
    deleted: '已删除',
  },
  promo: {
    verdict: (usd, reference) => `促销赠金 ${usd}（${reference}）`,
    parts: (available, held, spent, expired) => `：可用 ${available}，预留 ${held}，已用 ${spent}，过期 ${expired}。`,
    given: (usd, author, reason) => `${author} 赠送 ${usd}：${reason}`,
    expires: '剩余部分到期',
  },
  text: {
    verdict: (outcome, code, usd, loss) =>
      `${outcome}${code === null ? '' : `（${code}）`}，已收费 ${usd}${loss === null ? '' : `，我们承担 ${loss}`}。`,
    asked: (model, request, key) => `请求 ${request} 使用密钥 ${key} 调用 ${model}`,
    answered: (upstream, model, outcome, tokens) => `${upstream ?? '没有上游'}（${model}）：${outcome}，${tokens}`,
    tokens: (input, output) => `输入 ${input} token，输出 ${output} token`,
    route: (upstream, model, format, key) => `${upstream}（${model}，${format}，密钥 …${key}）`,
    attempt: (number, route, answer, decision, milliseconds) =>
      `第 ${number} 次尝试，${route}：${answer === '' ? '' : `${answer}；`}${decision}，用时 ${milliseconds} 毫秒`,
    failedAttempt: (upstream, model, tokens, usd) =>
      `在 ${upstream}（${model}）的一次失败尝试：${tokens}，我们的成本${usd === null ? '不明' : ` ${usd}`}`,
  },
};

/**
 * Questions, remedies and findings of reconciliation in simplified Chinese. Reports store the English sentences, by which
 * acknowledgements find them again, so that a finding is recognized by its sentence.
 */

/** By the name of the check: its question, and its remedy. */
const CHECKS: Readonly<Record<string, readonly [question: string, remedy: string]>> = {
  account_balances: [
    '每个余额是否等于其转账之和（包括已移出的月份）？',
    '转账是正确的。请找出绕过账户或转账触发器的语句，并把余额改为转账之和。',
  ],
  topped_up: [
    '账户是否仅在充值、兑换资金、支付套餐，或通过合并得到这样的账户的资金后，才标记为已充值？',
    '充值、兑换和套餐记录是正确的。请把 topped_up_at 设为其中首次的时间；都没有则设为 NULL。',
  ],
  account_merges: [
    '每次合并是否把从一个账户取走的金额如数给了另一个账户，并且没有遗留？',
    '取走资金的转账是正确的。请按差额调整另一个账户。如有遗留的资金，请在 api 进程的日志中查看中继为何无法转移。',
  ],
  key_usage: ['每个密钥的已用和预留金额是否等于其转账之和？', '转账是正确的。请把密钥的已用和预留金额改为转账之和。'],
  top_ups: [
    '每笔充值是否都有自己的参考号，每个参考号是否都有充值？',
    '请向支付服务商核实该参考号，并按重复入账或漏记的金额调整账户。',
  ],
  payments: [
    '每笔付款是否都按支付服务商通知的金额入账？',
    '该付款也曾手工入账。请在支付服务商处核对，按差额调整两个账户，然后确认该发现。',
  ],
  returned_payments: [
    '每笔退回付款人的款项是否都已从账户扣除？',
    '账户已花掉这笔钱。账户再有可用的付费余额时（例如退款），Genway 会扣除余下的部分。请向客户追讨，或用更正为账户入账，以立即付清。也可以确认该发现。',
  ],
  resolutions: [
    '每笔收费和退款是否都完整地了结一笔预留，且每笔预留最多了结一次？',
    '请把整条记录与任务的历史对照，并按差额调整账户。',
  ],
  task_transfers: ['每笔转账的任务是否存在？', '请从备份恢复该任务；无法恢复时，按预留金额调整账户。'],
  task_resolutions: [
    '每个已结束的任务是否恰有一笔了结：成功收费，失败退款？',
    '请在 Temporal 中查看任务的历史，并按任务的正确费用调整账户。',
  ],
  task_amounts: ['每个任务的价格是否等于其预留，失败任务是否全额退款？', '请按差额调整账户。'],
  overdue_tasks: ['每个任务是否都在截止时间前结束？', '请查看任务的工作流。若工作流不存在，请取消任务，这会退款。'],
  closed_months: [
    '每个已关账月份的账目在关账后是否未变？',
    '有语句绕过了数据库的规则。请把该月与关账时的导出文件对照。',
  ],
  promo_grants: [
    '每笔促销赠金的可用、预留、已用和过期金额是否与其转账和预留一致？',
    '转账和预留是正确的。请找出绕过 promo_grants 触发器的语句，并把金额改为转账和预留的金额。',
  ],
  promo_balances: [
    '每个账户的促销赠金是否包含在赠送额度中，账户是否标记为有促销赠金？',
    '请把赠金与账户的账目对照，并按是否有未结赠金设置 has_promo。',
  ],
  promo_holds: ['每笔促销赠金的预留是否属于未了结的预留或文本预留？', '请把该预留的记录与赠金对照，并按差额调整账户。'],
  plan_credit: [
    '套餐每个已付周期包含的额度是否都已发放，且只发放一次，有效至周期结束？',
    '周期记录是正确的。请补发缺少的额度，多发的部分请调整账户。',
  ],
  overdue_promo: ['所有促销赠金是否都在到期时扣除？', '请在 api 进程的日志中查看其中继为何无法扣除过期的赠金。'],
  gift_codes: [
    '每批兑换码是否齐全，每个已兑换的兑换码是否恰好入账一次，每笔兑换码入账是否对应已兑换的兑换码，使各批次的合计相符？',
    '转账和促销赠金是正确的。请把该批次与它们对照，并按重复入账或未入账的金额调整账户。',
  ],
  signup_credits: [
    '每个获得注册赠金的注册是否都有对应转账，每笔此类转账是否都有对应注册，使每个邮箱只获赠一次？',
    '转账是正确的。请把账户与其注册对照，并按重复入账或未入账的金额调整账户。',
  ],
  text_allowances: [
    '每笔文本预留是否等于其划拨减去收费和退回？',
    '转账是正确的。请找出绕过 `write_text` 的语句，并把 text_allowances 的金额改为转账之和；没有对应记录的预留请退回其余额。',
  ],
  stale_allowances: [
    '每笔文本预留是否属于正在提供文本服务的进程？',
    '文本进程会在一分钟内退回已停止进程的预留。请确认有文本进程在运行，并查看其日志。',
  ],
  text_charges: ['每个文本请求的收费是否与其用量记录一致？', '请按收费与转账的差额调整账户。'],
  text_usage: ['每个收费的文本请求是否都有用量记录？', '请在其进程的日志中查找该请求。若不应收费，请调整账户。'],
  text_prices: ['每个文本请求的收费是否等于其 token 按目录和价目表计算的价格？', '请按收费与价格的差额调整账户。'],
  budgets: ['每个预算的用量是否等于其周期内的收费加预留？', '收费是正确的。请把预算的用量改为周期内的收费加预留。'],
  daily_usage: [
    '每个账户的每日用量是否等于其任务和文本请求之和？',
    '明细是正确的。请把账户和日期写入 late_usage：此后该日按明细读取，下次清理时重新汇总。请删除没有明细的 daily_usage 记录。',
  ],
  daily_transfers: [
    '每个账户的每日转账合计是否等于其转账？',
    '转账是正确的。请把 daily_transfers 的记录改为转账之和；没有转账则删除。',
  ],
  vendor_bills: [
    '供应商对未关账月份的账单是否与生成任务和文本请求的成本一致？',
    'genway months bill MONTH VENDOR 列出各行。请询问供应商，更正该线路以后月份的成本，或确认该发现。',
  ],
  workflows: [
    '任务的工作流是否仅在任务进行期间打开？',
    '请在 Temporal 中打开工作流。任务已结束或不存在时，请终止工作流。`genway recover` 会重新启动缺少工作流的任务；取消这样的任务会退款。',
  ],
  deliveries: [
    '每个待投递的 Webhook 是否都由工作流或中继负责下一次尝试，且没有其他投递被尝试？',
    '请确认 api 进程在运行：由其中继启动投递。`genway recover` 会重新启动缺少工作流的投递，并列出没有投递的工作流。',
  ],
  results: [
    '最近成功的任务以及随机抽取的任务的文件是否都存在？',
    '请在存储的副本中查找该文件。`genway recover` 列出所有丢失的文件。文件丢失时，请通过更正补偿客户。',
  ],
};

/** Parts of findings. A name in braces stands for the text between the words. */
const DETAILS: readonly (readonly [english: string, chinese: string])[] = [
  ['{name} is {kept}, its transfers add up to {sum}', '{name} 为 {kept}，其转账合计 {sum}'],
  ['{name} is {kept}, but should be {sum}', '{name} 为 {kept}，应为 {sum}'],
  ['topped_up_at is {at}, but the account has topped up', 'topped_up_at 为 {at}，但账户充值过'],
  ['topped_up_at is {at}, but the account has no top-up', 'topped_up_at 为 {at}，但账户没有充值'],
  ['moved {taken} to {other}, which got {given}', '向 {other} 转移了 {taken}，对方得到 {given}'],
  ['merged {at}, and has {amount} to spend', '于 {at} 合并，但还有 {amount} 可用'],
  ['reference {reference}: {credited} credited, {noted} noted', '参考号 {reference}：入账 {credited}，登记 {noted}'],
  [
    '{reference} was announced with {amount} for {account}, but credited with {credited} to {other}',
    '{reference} 的通知金额为 {amount}（{account}），但向 {other} 入账 {credited}',
  ],
  ['{reference}: {returned} returned, {taken} taken back', '{reference}：退回 {returned}，已扣回 {taken}'],
  ['owes {owed}, and its returned payments lack {lacking}', '欠 {owed}，其退回的付款尚缺 {lacking}'],
  ['owes {owed}, and has {amount} to spend', '欠 {owed}，但还有 {amount} 可用'],
  ['its reservation {id} is missing', '缺少其预留 {id}'],
  ['{amount} is resolved, but the reservation {id} is of {held}', '了结了 {amount}，但预留 {id} 为 {held}'],
  [
    '{amount} of signup credit is resolved, but the reservation {id} took {held} of it',
    '了结了 {amount} 注册赠金，但预留 {id} 使用了 {held}',
  ],
  ['its reservation {id} is of another account, key or task', '其预留 {id} 属于其他账户、密钥或任务'],
  ['{count} transfers resolve it', '有 {count} 笔转账了结它'],
  ['{kinds} of {amount}, but there is no such task', '{kinds} {amount}，但任务不存在'],
  ['the task is {status}, resolved by {kinds}', '任务状态 {status}，了结方式：{kinds}'],
  ['priced at {price}, reserved {rest}', '价格 {price}，预留 {rest}'],
  ['still {status}, its deadline was {at}', '仍为 {status}，截止时间为 {at}'],
  [
    'closed with {transfers} transfers ({amounts}), now {now} ({others})',
    '关账时 {transfers} 笔转账（{amounts}），现在 {now} 笔（{others}）',
  ],
  [
    '{credited} credited to {account} by {credit}, {redeemed} redeemed by {redeemer}',
    '入账 {credited}（账户 {account}，{credit}），兑换 {redeemed}（账户 {redeemer}）',
  ],
  [
    '{credited} credited by {credit}, {granted} granted to the registration',
    '入账 {credited}（{credit}），注册获赠 {granted}',
  ],
  ['{issued} codes were issued, but {stored} are there', '发行了 {issued} 个兑换码，但存在 {stored} 个'],
  [
    '{amount} until {at} is included, but granted was {granted} until {end}',
    '应包含 {amount}（至 {at}），但已发放 {granted}（至 {end}）',
  ],
  ['{amount} was granted for no period of a plan', '发放了 {amount}，但没有对应的套餐周期'],
  ['{amount} were given for a grant that is not there', '赠送了 {amount}，但赠金不存在'],
  [
    '{available} and {reserved} reserved of promo credit, of {given} and {held} reserved that were given',
    '促销赠金可用 {available}、预留 {reserved}；赠送额度可用 {given}、预留 {held}',
  ],
  ['marked', '已标记'],
  ['not marked', '未标记'],
  [
    '{amount} of {grants} are held, but there is no such reservation or allowance',
    '预留了 {grants} 的 {amount}，但没有对应的预留',
  ],
  ['{amount} of {grants} are held, but it was resolved by {id}', '预留了 {grants} 的 {amount}，但已由 {id} 了结'],
  [
    '{amount} of {grants} are held, but it holds {held} of signup credit',
    '预留了 {grants} 的 {amount}，但其中的赠送额度为 {held}',
  ],
  ['{amount} is still available, although it expired {at}', '{amount} 已于 {at} 过期，但仍未扣回'],
  ['{amount} of {account} are left, of them {signup} of signup credit', '{account} 还剩 {amount}，其中赠送 {signup}'],
  ['its transfers add up to {sum} and {signup}', '其转账合计 {sum} 和 {signup}'],
  ['{amount} of {account} since {at}', '{account} 的 {amount}，自 {at}'],
  [
    'charge {charge}, held {held}, excess {excess}, absorbed {absorbed}',
    '收费 {charge}，预留 {held}，超出 {excess}，自担 {absorbed}',
  ],
  [
    'the ledger has {charge} by another account, excess {excess}, absorbed {absorbed}',
    '账本为其他账户的 {charge}，超出 {excess}，自担 {absorbed}',
  ],
  ['the ledger has {charge}, excess {excess}, absorbed {absorbed}', '账本为 {charge}，超出 {excess}，自担 {absorbed}'],
  ['{kinds} of {amount} without usage', '{kinds} {amount}，没有用量记录'],
  ['there is no rate card of {model} in version {version}', '版本 {version} 中没有 {model} 的费率'],
  ['there is no version {version} of a price list', '没有价目表版本 {version}'],
  ['charged {charge}, its price is {price}', '已收费 {charge}，价格为 {price}'],
  ['{used} used, of it {held} held', '已用 {used}，其中预留 {held}'],
  ['charged {amount}', '已收费 {amount}'],
  [
    '{kind} of {model} by {key} on {day}: {kept} kept, its rows add up to {sum}',
    '{day} {key} 的 {kind}（{model}）：记录 {kept}，明细合计 {sum}',
  ],
  ['{kind} on {day}: {kept} kept, its transfers add up to {sum}', '{day} 的 {kind}：记录 {kept}，转账合计 {sum}'],
  ['the delivery is pending, but its workflow is closed or missing', '投递待处理，但其工作流已关闭或不存在'],
  ['the delivery is pending, it was to be started at {at}', '投递待处理，应于 {at} 启动'],
  ['there is no such delivery, but its workflow is open', '投递不存在，但其工作流仍打开'],
  ['the task is {status}, but its workflow is open', '任务状态 {status}，但其工作流仍打开'],
  ['the task is {status}, but its workflow is closed or missing', '任务状态 {status}，但其工作流已关闭或不存在'],
  ['there is no such task', '任务不存在'],
  ['the task succeeded, but its file {url} is missing', '任务成功，但其文件 {url} 丢失'],
  ['the file of the upload is missing', '上传的文件丢失'],
  [
    '{count} job{plural} billed without a record: {usd} (first: {id})',
    '{count} 个已计费的作业没有记录：{usd}（首个：{id}）',
  ],
  ['{count} job{plural} not billed: {usd} (first: {id})', '{count} 个作业未计费：{usd}（首个：{id}）'],
  [
    '{count} job{plural} billed with another price: {billed} instead of {cost} (first: {id})',
    '{count} 个作业价格不同：账单 {billed}，我们的成本 {cost}（首个：{id}）',
  ],
  ['billed without a record: {usd} (first: {id})', '已计费但没有记录：{usd}（首个：{id}）'],
  [
    'billed with another price: {billed} instead of {cost} (first: {id})',
    '价格不同：账单 {billed}，我们的成本 {cost}（首个：{id}）',
  ],
  ['billed without a record: {usd}', '已计费但没有记录：{usd}'],
  ['not billed: {usd}', '未计费：{usd}'],
  ['billed with another price: {billed} instead of {cost}', '价格不同：账单 {billed}，我们的成本 {cost}'],
];

const PATTERNS = DETAILS.map(([english, chinese]) => {
  const escaped = english.replaceAll(/[().]/g, String.raw`\$&`);
  return { pattern: new RegExp(`^${escaped.replaceAll(/\{(\w+)\}/g, '(?<$1>.*?)')}$`), chinese };
});

export const FINDINGS_ZH = {
  question: (check: string, english: string): string => CHECKS[check]?.[0] ?? english,
  remedy: (check: string, english: string): string => CHECKS[check]?.[1] ?? english,
  /** A part that nobody has translated stays English. */
  detail: (english: string): string => english.split('; ').map(translatePart).join('；'),
};

function translatePart(part: string): string {
  for (const { pattern, chinese } of PATTERNS) {
    const found = pattern.exec(part);
    if (found) return chinese.replaceAll(/\{(\w+)\}/g, (_, name: string) => found.groups?.[name] ?? '');
  }
  return part;
}

/** The texts of the guide for developers in simplified Chinese. */
import type { GuideFacts, guideEnglish } from './guide-en.ts';

export const guideChinese = (product: string): ReturnType<typeof guideEnglish> => ({
  title: '文档',
  description: `${product} 的首次调用、密钥、任务、Webhook、错误和客户端设置`,
  contents: '目录',
  format: '格式',
  call: '调用',
  places: '密钥的位置，以第一个为准',
  code: '代码',
  status: '状态码',
  retry: '可否重试',
  yes: '可以',
  no: '不可',
  sections: {
    start: {
      title: '五分钟上手',
      text: ({
        isOpen,
      }) => `1. ${isOpen ? '[注册](/console/register)或[登录](/console)' : '[登录](/console)'} ${product}。调用费用从账户余额中扣除：请在“账单”中充值。
2. 在“API 密钥”中创建密钥。${product} 只显示一次。将其放入环境变量：\`export API_KEY=sk-…\`
3. 运行下面的调用。每个[模型](/models)都有这样的 curl、Python 和 TypeScript 示例。`,
    },
    authentication: {
      title: '身份验证',
      text: ({
        apiUrl,
      }: GuideFacts) => `API 的地址是 \`${apiUrl}\`。请以 \`Authorization: Bearer sk-…\` 发送密钥；其他 SDK 的格式也接受这些 SDK 发送密钥的位置。

密钥只应放在您信任的服务器上，切勿放在浏览器或应用中。您可以在控制台为密钥设置用量上限、有效期、模型列表和地址列表。`,
    },
    tasks: {
      title: '任务：图片和视频',
      text: (
        facts: GuideFacts,
      ) => `每张图片或每个视频都是一个任务。创建调用会预留价格，并立即返回任务的 \`id\`。任务的状态有：${facts.statuses}。失败的任务不收费：全部价格退回您的余额。

图片每 ${facts.imageSeconds} 秒查询一次，视频每 ${facts.videoSeconds} 秒查询一次，也可以使用 [Webhook](#webhooks)。文件的链接在 \`output.media\` 中。

每次创建调用都请发送 \`Idempotency-Key\`：${facts.idempotencyHours} 小时内，相同的键和相同的请求返回同一个任务，因此重试绝不会重复生成或重复扣费。

用 \`POST /v1/files\` 上传您自己的图片：最大 ${facts.fileMegabytes} MB，视频最大 ${facts.videoMegabytes} MB。`,
    },
    webhooks: {
      title: 'Webhook',
      text: (
        facts: GuideFacts,
      ) => `在控制台或用 \`POST /v1/webhooks\` 注册最多 ${facts.maxEndpoints} 个 https 地址。地址会收到事件 ${facts.taskEvents}，也可以订阅 ${facts.otherEvents}。

每次投递都是带有这些标头的 \`POST\`：${facts.headers}。请对请求体的原始字节验证签名，拒绝与您的时钟相差超过 ${facts.toleranceMinutes} 分钟的时间戳，并记住事件的 \`id\`：同一事件可能到达两次。

请在 ${facts.attemptSeconds} 秒内以任意 2xx 回应。否则 ${product} 会重试，总共 ${facts.attempts} 次，间隔依次为：${facts.waits}。您的服务器的 \`Retry-After\` 可以延长间隔，最长 ${facts.maxWaitHours} 小时。`,
    },
    errors: {
      title: '错误',
      text: ({
        taskCodes,
      }: GuideFacts) => `错误带有供程序使用的 \`code\`，以及说明如何更改的 \`message\`。联系客服时请附上 \`request_id\`。文本调用在各自格式的结构中使用相同的代码。

只重试标为“可以”的代码：等待 \`Retry-After\` 中的秒数，没有时则以随机且递增的间隔重试。失败的任务带有以下代码之一：${taskCodes}。`,
    },
    clients: {
      title: '客户端设置',
      text: () =>
        '常用 API 的客户端只需两项设置：地址和密钥。`sk-…` 是您的密钥，`MODEL` 是[文本模型](/models?kind=text)的 id。',
    },
  },
});

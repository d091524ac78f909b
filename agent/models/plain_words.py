"""A refusal's words in one spelling, so that one rule reads them all: small letters, single blanks, plain digits, and
the few words that matter in English. Pure.

Not a translator: what it does not know stays as it is, and a sentence keeps its order. Servers answer in their owner's
language, and name their own parameters (`max_seq_len`, `n_ctx`) where others use words.

Invariant: numbers keep their value and their order.
"""

from __future__ import annotations

import re
import unicodedata

# A measure of the context in a Latin language: "longitud máxima de contexto", "fenêtre de contexte".
_MEASURE = (
    r"(?:longitud|ventana|tamaño|l[íi]mite|comprimento|janela|tamanho|longueur|fenêtre|taille|lunghezza|finestra"
    r"|dimensione)"
    r"(?P<max> m[áa]xim[oa]| maximale?| massim[oa])? (?:del?|do|du|di|della|dell')(?: la| el)? ?conte[xs]t[oe]\b"
)

# What is meant, and how it is said. Earlier lines win: the longer before what it contains. A stem takes its endings.
_MEANT: tuple[tuple[str, str], ...] = (
    ("request body", r"请求体|請求體|リクエストボディ|요청 본문|cuerpo de la solicitud|corpo da \w+"
     r"|corps de la requête"),
    ("insufficient balance",
     r"余额不足|餘額不足|欠费|残高不足|残高が不足|잔액이? 부족|saldo insuficiente|solde insuffisant"
     r"|guthaben \w*aufgebraucht"
     r"|credito insufficiente|недостаточно средств"),
    ("invalid api key",
     r"api ?(?:密钥|密鑰|key) ?(?:无效|無效|错误|不正确)|无效的 ?api ?(?:密钥|key)|apiキーが無効|api 키가 (?:잘못"
     r"|유효하지)"
     r"|clave (?:de )?api (?:inválida|no válida)|chave de api inválida|clé api (?:invalide|non valide)"
     r"|ungültiger api-schlüssel|неверный (?:api-)?ключ"),
    ("model not found",
     r"模型不存在|未找到模型|モデルが(?:見つかりません|存在しません)|모델을 찾을 수 없|modelo no encontrado"
     r"|modelo não encontrado"
     r"|modèle introuvable|modell nicht gefunden|модель не найдена"),
    ("token limit", r"l[íi]mite d[ei] (?:tokens?|jetons)"),
    ("reduce the length of the", r"压缩|缩短|減少|减少"),
    ("rate limit",
     r"速率限制|频率限制|頻率限制|限流|レート制限|요청 한도|límite de (?:velocidad|tasa)|limite de (?:taxa|débit)"
     r"|limite di frequenza|ratenlimit\w*|ограничени\w+ (?:скорости|частоты)"),
    ("too many requests",
     r"(?:请求|請求)?(?:过于|過於)频?頻?繁|访问量过大|リクエストが多すぎ|너무 많은 요청|demasiadas (?:solicitudes"
     r"|peticiones)"
     r"|(?:muitas|demasiadas) (?:solicitações|requisições)|trop de requêtes|zu viele anfragen|слишком много запросов"),
    ("per minute", r"每分钟|每分鐘|毎分|1?分(?:あたり|間)|분당|por minuto|par minute|pro minute|al minuto|в минуту"),
    ("per day", r"每日|每天|1?日あたり|하루|por d[íi]a|par jour|pro tag|al giorno|в день"),
    ("context length",
     r"上下文(?:窗口|視窗|长度|長度)?|コンテキスト(?:長|ウィンドウ|サイズ)?|컨텍스트(?: ?(?:길이|창|윈도우|크기))?"
     r"|kontext(?:länge|fenster|größe)\w*"
     r"|(?:длин\w+|окн\w+|размер\w*) контекст\w*|długoś\w+ kontekstu|bağlam (?:pencere|uzunlu)\w*|độ dài ngữ cảnh"),
    ("cannot exceed", r"不能超过|不得超过|不可超过|不能超過|no puede (?:superar|exceder)|não pode (?:exceder"
     r"|ultrapassar)"),
    ("exceeds",
     r"超过|超過|超出|超限|超え(?:て|ま|た|る)\w*|초과\w*|exced(?:e|ió|ido|eu|ida)\b|super(?:a|ó|ado|ada|ato)\b"
     r"|sobrepasa\w*"
     r"|ultrapass(?:a|ou)\b|dépass\w*|übers(?:chr|t[ei]i?g)\w+|превы[шс]\w*|przekracza\w*|aşıyor|aştı|vượt quá"),
    ("too long",
     r"过长|過長|太长|太長|超长|超長|長すぎ\w*|너무 (?:깁니다|길\w*|긴)|(?:demasiado|muy) larg[oa]|(?:demasiado"
     r"|muito) long[oa]"
     r"|trop longu?e?|zu lang\w*|troppo lung[oa]|слишком длинн\w+|çok uzun|zbyt dług\w+|quá dài"),
    ("too large",
     r"过大|太大|大きすぎ\w*|너무 (?:큽니다|크\w*|큰)|(?:demasiado|muito|troppo) grande|trop (?:grande?"
     r"|volumineu\w+)|zu groß\w*"
     r"|слишком больш\w+|quá lớn"),
    ("maximum", r"最大|最长|最長|최대|\bm[áa]xim[oa]s?\b|\bmaximale?[nrs]?\b|\bmassim[oa]\b|максим\w+|maksymaln\w+"
     r"|tối đa"),
    ("supported", r"支持|支援"),
    ("limit", r"上限|限制|制限|한도|\bl[íi]mite\b|лимит\w*"),
    ("tokens", r"令牌数?|词元数?|(?:tokens? ?)?数量|トークン数?|토큰(?: ?수)?|\bjetons?\b|токен\w*|(?<=token)s? ?数"),
    ("input", r"输入(?:内容)?|輸入(?:內容)?|入力|입력|\bentrada\b|\beingabe\b|\bentrée\b|входн\w+|\bgirdi\b|đầu vào"),
    ("output", r"输出|輸出|出力|출력|\bsalida\b|\bsaída\b|\bsortie\b|\bausgabe\b|вывод\w*"),
    ("concurrent", r"并发|並發|同時実行|동시"),
    ("prompt", r"提示词|提示詞|プロンプト|프롬프트|(?<=\bl')invite\b"),
    ("conversation", r"(?:对话|對話|会话)(?:内容|內容)?|会話|대화|\bconversaci[óo]n\b|\bgespräch\b|диалог\w*"),
    ("request",
     r"请求|請求|リクエスト|요청|\bsolicitud\b|\bpetición\b|\bsolicitação\b|\brequisição\b|\brequête\b|\banfrage\b"
     r"|\brichiesta\b"
     r"|запрос\w*"),
    ("model", r"模型|モデル|모델|\bmodelo\b|\bmodèle\b|\bmodells?\b|\bmodello\b|модел\w+"),
    ("length", r"长度|長度|長さ|길이|\blongitud\b|\bcomprimento\b|\blongueur\b|\blänge\b|\blunghezza\b|длин\w+"),
    ("characters", r"字符|字元|文字|\bcaract[eè]res\b|\bzeichen\b|символ\w*|\bcaratteri\b"),
    ("bytes", r"字节|位元組|バイト|바이트|\boctets?\b|байт\w*"),
    ("image", r"图片|图像|圖片|画像|이미지|\bim[áa]gen(?:es)?\b|\bimage[mn]s?\b|\bbild(?:er)?\b|изображени\w*"
     r"|\bimmagin[ei]\b"),
    ("quota", r"配额|配額|クォータ|할당량|\bcuota\b|\bcota\b|\bkontingent\b|квот\w*"),
    ("sensitive", r"敏感|不安全|不适当"),
    ("is", r"\b(?:es|est|é|è|ist|sind|son|sont|são)\b(?= +(?:too |\d))|为|為|\b(?:es|é|est|è) d[ei](?= ?\d)"
     r"|\bbeträgt\b|составля\w+"),
    ("contains", r"包含|当前|目前|\benthält\b|\bcontiene\b|\bcontém\b|содержит|\btem(?= \d)|\bsolicitó\b|\bdemandé\b"),
)  # fmt: skip
_FOREIGN = tuple((f" {meant} ", re.compile(said)) for meant, said in _MEANT)
_OF_CONTEXT = re.compile(_MEASURE)

# What servers call their own parameters. `max_tokens` and its like stay: they are the wished answer's.
_NAMED = tuple(
    (meant, re.compile(said))
    for meant, said in (
        ("maximum input length", r"\bmax_(?:input|prompt)_(?:len(?:gth)?|tokens?|size)\b"),
        ("maximum context length",
         r"\bmax_(?:seq|sequence|model|context|ctx)_?(?:len(?:gth)?|size|window|tokens)\b|\bsession_len(?:gth)?\b"
         r"|\bmax_(?:position_embeddings|num_tokens)\b|\b(?:n|num|max)_ctx\b"),
        # Two names of one thing: `max_model_len=max_total_tokens=8192`.
        ("", r"(?<==)max_total_tokens="),
        ("maximum context length", r"\bcontext_(?:window|length|size)(?= ?[=:(] ?\d)"),
        ("total tokens", r"\bmax_total_tokens\b|\btotal_tokens\b"),
        ("prompt length", r"\b\w*(?:prompt|input)_(?:len(?:gth)?|ids length)\b"),
        ("prompt tokens", r"\b(?:n_)?(?:prompt|input)_tokens\b"),
    )
)  # fmt: skip
_SIGNS = str.maketrans({"。": ". ", "、": ", ", "’": "'", "「": '"', "」": '"'})
# What stands between words where no blanks do, and means nothing here.
_PARTICLE = re.compile(r"[のがをはも的了个個被将該该]|(?<=[a-z0-9)]) ?(?:이|가|을|를|의|은|는|에)(?![가-힣])")
# "3.2万" is 32,000. More digits than these are no count of tokens.
_MYRIAD = re.compile(r"(?<!\d)(\d{1,6}(?:\.\d{1,4})?) ?[万萬만]")


def plain(text: str) -> str:
    """`text` in one spelling."""
    said = unicodedata.normalize("NFKC", text).translate(_SIGNS).lower()
    if not said.isascii():
        said = _MYRIAD.sub(lambda found: str(round(float(found[1]) * 10_000)), said)
    said = _OF_CONTEXT.sub(lambda found: f"{'maximum ' if found['max'] else ''}context length", said)
    for meant, pattern in _FOREIGN:
        said = pattern.sub(meant, said)
    if not said.isascii():
        said = _PARTICLE.sub(" ", said)
    for meant, pattern in _NAMED:
        said = pattern.sub(meant, said)
    said = re.sub(r"\btokens?(?: +tokens?)+\b", "tokens", said)
    return re.sub(r" +([:,;.)])", r"\1", " ".join(said.split()))

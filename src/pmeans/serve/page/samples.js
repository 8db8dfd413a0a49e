// What stands in the fields at first, in as many of the model's languages as there are samples.

const SENTENCES = {
  en: [
    "The goalkeeper saved the penalty in the last minute.",
    "The central bank raised interest rates again.",
    "Boil the potatoes and add a little butter.",
  ],
  de: [
    "Der Torwart hielt in letzter Minute den Elfmeter.",
    "Die Zentralbank hat die Zinsen erneut erhöht.",
    "Die Kartoffeln kochen und etwas Butter dazugeben.",
  ],
  fr: [
    "Le gardien a arrêté le penalty à la dernière minute.",
    "La banque centrale a de nouveau relevé les taux d’intérêt.",
    "Faites cuire les pommes de terre et ajoutez un peu de beurre.",
  ],
  es: [
    "El portero paró el penalti en el último minuto.",
    "El banco central ha vuelto a subir los tipos de interés.",
    "Cueza las patatas y añada un poco de mantequilla.",
  ],
  it: [
    "Il portiere ha parato il rigore all’ultimo minuto.",
    "La banca centrale ha alzato di nuovo i tassi di interesse.",
    "Lessate le patate e aggiungete un po’ di burro.",
  ],
  nl: [
    "De keeper stopte de strafschop in de laatste minuut.",
    "De centrale bank heeft de rente opnieuw verhoogd.",
    "Kook de aardappelen en voeg een beetje boter toe.",
  ],
};

// One of these, of a language that the model does not have.
const FOREIGN = {
  es: "¿Dónde está la playa más cercana?",
  fi: "Missä on lähin uimaranta?",
};

const EXAMPLES = `delivery: The parcel still has not arrived.
delivery: When will my order be delivered?
delivery: The package was sent to the wrong address.
refund: I would like to have my money back.
refund: You charged my credit card twice.
refund: Please cancel the payment.
praise: Thank you, your staff was very friendly.
praise: Excellent quality, I am delighted.
praise: Great service, I will gladly come again.`;

const TRIES = {
  de: [
    "Mein Paket ist immer noch nicht angekommen.",
    "Ich möchte mein Geld zurückhaben.",
    "Vielen Dank, der Verkäufer war sehr nett.",
  ],
  fr: [
    "Quand le colis sera-t-il livré à mon adresse ?",
    "Ma carte de crédit a été débitée deux fois.",
    "Un service excellent, merci beaucoup !",
  ],
  es: ["El paquete todavía no ha llegado.", "Quiero que me devuelvan el dinero."],
  en: ["Where is the parcel?", "I want my money back.", "Everything was excellent, thank you."],
};

/** The first lines of `sentences`, `examples` and `tries`, for what `/info` says. */
export function samples(info) {
  const spoken = (said) => Object.keys(said).filter((lang) => info.languages.includes(lang));
  // A model that does not find languages is told one for all lines.
  const most = info.finds_languages ? 3 : 1;
  const some = (said, skip = "") =>
    spoken(said)
      .filter((lang) => lang !== skip)
      .slice(0, most);
  const langs = some(SENTENCES);
  const lines = [0, 1, 2].flatMap((i) => langs.map((lang) => SENTENCES[lang][i]));
  const foreign = Object.keys(FOREIGN).find((lang) => !info.languages.includes(lang));
  if (info.finds_languages && foreign && lines.length) lines.push(FOREIGN[foreign]);
  const tries = some(TRIES, "en");
  return {
    sentences: (lines.length ? lines : SENTENCES.en).join("\n"),
    examples: EXAMPLES,
    examplesLang: info.languages.includes("en") ? "en" : info.languages[0],
    tries: (tries.length ? tries : ["en"]).flatMap((lang) => TRIES[lang]).join("\n"),
    triesLang: tries[0],
    query: "Children travel free of charge.",
  };
}
